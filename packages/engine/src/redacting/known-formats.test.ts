import { redactorContract } from '@memoryd/suites';
import { describe, expect, it } from 'vitest';
import { knownFormats } from './known-formats.ts';

describe('known formats redactor', () => redactorContract(knownFormats));

/**
 * Returns meaningless letters and digits of a given length. Tokens are composed of them, so that the source contains no
 * complete token.
 */
const random = (length: number) => 'R8sK2mVq7LxT4bNw9ZcY1fHj6DpG3uE5aQoI0tXvCyBk'.repeat(8).slice(0, length);
const hex = (length: number) => '9f8e7d6c5b4a39281706f5e4d3c2b1a0'.repeat(4).slice(0, length);
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const pem = (label: string) =>
  `-----BEGIN ${label}-----\n${`${random(64)}\n`.repeat(4)}${random(20)}==\n-----END ${label}-----`;
const jwt = `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ sub: '1234567890' })}.${random(43)}`;

describe('known formats redactor redacts', () => {
  it.each<[kind: string, ...secrets: string[]]>([
    ['private-key', pem('PRIVATE KEY'), pem('RSA PRIVATE KEY'), pem('EC PRIVATE KEY'), pem('OPENSSH PRIVATE KEY')],
    [
      'private-key',
      pem('ENCRYPTED PRIVATE KEY'),
      pem('PGP PRIVATE KEY BLOCK'),
      pem('PRIVATE KEY').replaceAll('\n', '\\n'),
    ],
    ['aws-access-key', `AKIA${random(16).toUpperCase()}`, `ASIA${random(16).toUpperCase()}`],
    ['github-token', ...['ghp', 'gho', 'ghu', 'ghs', 'ghr'].map((kind) => `${kind}_${random(36)}`)],
    ['github-token', `github_pat_${random(22)}_${random(59)}`],
    ['gitlab-token', `glpat-${random(20)}`, `glpat-${random(27)}.01.${hex(9)}`, `glrt-${random(20)}`],
    [
      'slack-token',
      `xoxb-123456789012-1234567890123-${random(24)}`,
      `xoxp-${random(40)}`,
      `xapp-1-A0123-456-${hex(32)}`,
    ],
    ['stripe-key', `sk_live_${random(24)}`, `rk_test_${random(99)}`, `whsec_${random(32)}`],
    [
      'openai-key',
      `sk-proj-${random(74)}T3BlbkFJ${random(74)}`,
      `sk-${random(20)}T3BlbkFJ${random(20)}`,
      `sk-or-v1-${hex(64)}`,
    ],
    ['anthropic-key', `sk-ant-api03-${random(93)}AA`, `sk-ant-admin01-${random(93)}AA`],
    ['google-key', `AIza${random(35)}`, `GOCSPX-${random(28)}`, `ya29.${random(120)}`],
    ['npm-token', `npm_${random(36)}`],
    ['pypi-token', `pypi-AgEI${random(150)}`],
    ['huggingface-token', `hf_${random(34)}`],
    ['sendgrid-key', `SG.${random(22)}.${random(43)}`],
    ['telegram-token', `123456789:AA${random(33)}`],
    ['memoryd-key', `mmd_${hex(16)}_${hex(64)}`],
    [
      'api-key',
      `dop_v1_${hex(64)}`,
      `shpat_${hex(32)}`,
      `dapi${hex(32)}`,
      `dckr_pat_${random(27)}`,
      `hvs.${random(95)}`,
    ],
    ['api-key', `lin_api_${random(40)}`, `gsk_${random(52)}`, `xai-${random(80)}`, `pplx-${random(48)}`],
    ['jwt', jwt, `${base64url({ alg: 'dir', enc: 'A256GCM' })}..${random(16)}.${random(90)}.${random(22)}`],
    ['payment-card', '4111111111111111', '4111-1111-1111-1111', '5500 0055 5555 5559', '2223003122003222'],
    [
      'payment-card',
      '371449635398431',
      '3714 496353 98431',
      '6011111111111117',
      '3530111333300000',
      '6200000000000005',
    ],
    ['payment-card', '3056 930902 5904'],
  ])('known formats redactor redacts secrets of the kind %s (%#)', (kind, ...secrets) => {
    for (const secret of secrets) {
      for (const [before, after] of [
        ['', ''],
        ['It is ', '.'],
        ['("', '")'],
        ['値は「', '」です'],
        ['x=', '\n'],
        ['> ', ', so'],
      ] as const) {
        expect(knownFormats.redact(before + secret + after)).toEqual({
          text: `${before}[redacted:${kind}]${after}`,
          kinds: [kind],
        });
      }
    }
  });

  it.each([
    ['postgres://ada:{}@db.example.org:5432/app', 'password', 'hunter2'],
    ['redis://:{}@cache.example.org', 'password', 'p@ss:w0rd'],
    ['see https://ada:{}@example.org/a?b=c for more', 'password', 'secret'],
    ['amqp://guest:{}@10.0.0.1', 'password', 'guest'],
    ['https://hooks.slack.com/services/{}', 'slack-webhook', `T0123ABCD/B0123ABCD/${random(24)}`],
    ['https://discord.com/api/webhooks/123456789012345678/{}', 'discord-webhook', random(68)],
    ['curl -H "Authorization: Bearer {}" https://example.org', 'bearer-token', random(32)],
    ['authorization: bearer {}', 'bearer-token', hex(40)],
    ['Authorization: Basic {}', 'basic-credentials', 'YWRhOmh1bnRlcjI='],
    ['password={}', 'password', 'Tr0ub4dor&3xYz'],
    ['DB_PASSWORD={}', 'password', 'Tr0ub4dor3'],
    ['DB_PASS={}', 'password', 'Tr0ub4dor3'],
    ['{"password": "{}", "user": "ada"}', 'password', 'P@$$w0rd!'],
    ["const pwd = '{}';", 'password', 'hunter22'],
    ['The wifi password is {}.', 'password', 'blue42whale'],
    ['Das Passwort lautet {}, bitte merken.', 'password', 'Sommer2024'],
    ['mot de passe : {}', 'password', 'Soleil2024'],
    ['La contraseña es {}', 'password', 'Verano2024'],
    ['Пароль: {}', 'password', 'Zima2024x'],
    ['密码：{}，请保管', 'password', 'Chunjie2024'],
    ['パスワードは{}です', 'password', 'Sakura2024'],
    ['api_key: {}', 'credential', random(32)],
    ['API key = "{}"', 'credential', hex(32)],
    ['https://example.org/v1?api_key={}&page=2', 'credential', random(32)],
    ['aws_secret_access_key = {}', 'credential', `${random(19)}/${random(10)}+${random(9)}`],
    ['export AWS_SECRET_ACCESS_KEY="{}"', 'credential', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['aws configure set aws_secret_access_key {}', 'aws-secret-key', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['AWS Secret Access Key [None]: {}', 'aws-secret-key', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['<SecretAccessKey>{}</SecretAccessKey>', 'aws-secret-key', '/JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['Der geheime AWS-Schlüssel lautet {}', 'aws-secret-key', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['deploy --password {} --force', 'password', 'horse7Battery!staple'],
    ['deploy --db-token {}', 'credential', random(20)],
    ['{\\"password\\":\\"{}\\"}', 'password', 'horse7Battery!staple'],
    ['client_secret={}', 'credential', random(40)],
    ['X-Auth-Token: {}', 'credential', hex(32)],
    ['AccountKey={};EndpointSuffix=core', 'credential', `${random(86)}==`],
    ['my api key is {} for now', 'credential', random(24)],
  ])('known formats redactor redacts the secret in %s', (frame, kind, secret) => {
    expect(knownFormats.redact(frame.replace('{}', () => secret))).toEqual({
      text: frame.replace('{}', `[redacted:${kind}]`),
      kinds: [kind],
    });
  });

  it('known formats redactor redacts a secret by its most specific kind if several formats match', () => {
    for (const frame of ['token={}', 'Authorization: Bearer {}', 'password is {}', '"api_key": "{}"']) {
      const token = `ghp_${random(36)}`;
      expect(knownFormats.redact(frame.replace('{}', token)).text).toBe(frame.replace('{}', '[redacted:github-token]'));
    }
  });

  it('known formats redactor redacts a truncated private key', () => {
    const cut = pem('RSA PRIVATE KEY').slice(0, 150);
    expect(knownFormats.redact(`${cut}`).kinds).toEqual(['private-key']);
  });

  it.each([
    [`https://ada:Tr0ub4dor&4111 1111 1111 1111@example.org`, 'https://ada:[redacted:password]@example.org'],
    [`password="Tr0ub4dor&4111 1111 1111 1111"`, 'password="[redacted:password]"'],
  ])(
    'known formats redactor redacts a whole password that contains another secret with blanks: %s',
    (text, without) => {
      expect(knownFormats.redact(text)).toEqual({ text: without, kinds: ['password'] });
    },
  );

  it('known formats redactor redacts a card number that follows another number', () => {
    expect(knownFormats.redact('5501 4111 1111 1111 1111').text).toBe('5501 [redacted:payment-card]');
  });
});

describe('known formats redactor does not redact', () => {
  const image = `data:image/png;base64,${Buffer.from(Array.from({ length: 30_000 }, (_, i) => (i * 7919 + (i >> 3)) & 255)).toString('base64')}`;

  it.each([
    ['a UUID', 'order 550e8400-e29b-41d4-a716-446655440000, session 018f3d1c-7b2a-7c3d-9e4f-0123456789ab'],
    ['a git commit hash', 'commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes 1a2b3c4'],
    ['a digest', 'sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae'],
    [
      'an integrity hash of a lock file',
      'sha512-FyyrDHZKEjXDpNJYvVsV960FiqQyXc/LlYmsxl2BcdMb2WPx0OGRVgTg55rPSyLSNMqP52R9r8geSp7apN3Ofg==',
    ],
    ['an ISBN', 'ISBN 978-3-16-148410-0, 9783161484100, 0-306-40615-2'],
    ['a telephone number', 'Call +49 1512 3456789, (555) 867-5309 or 0049-30-1234567.'],
    ['an account number', 'IBAN DE89 3704 0044 0532 0130 00, GB29 NWBK 6016 1331 9268 19, NL91 ABNA 0417 1640 00'],
    ['a bank account with the prefix of a card', 'DE12 4111 1111 1111 1111 00'],
    ['a number with a wrong checksum', 'order 4111111111111112, 4111 1111 1111 1113'],
    ['a number of an unknown issuer', 'invoice 1234567812345670, tracking 9400110200881234567890'],
    ['a long id', 'tweet 1790000000000000000, user 41111111111111111, row 12345678901234567890'],
    ['a time', '1700000000000, 20240115103000, 2024-01-15T10:30:00.000Z'],
    ['a decimal number', '0.4111111111111111 and 4111111111111111.5 and 1.4111111111111111'],
    ['a part of a longer number', 'a4111111111111111, 4111111111111111b, 4111-1111-1111-1111-1111'],
    ['an image', image],
    ['a version', 'node v20.20.2, token: v1.2.3-beta4, sha256-hashed secrets'],
    [
      'prose about passwords',
      'The password: required, 8-characters-min. Password is case-sensitive; passwords are hashed.',
    ],
    ['prose about tokens', 'The token is base64url-encoded. Secret: nobody knows. tokens = 4096; max_tokens=128000'],
    [
      'code that names a password',
      'const password = process.env.DB_PASSWORD_2; token = getToken2(user); secret = readSecret();',
    ],
    [
      'a placeholder',
      'password=$DB_PASSWORD1 token=<your-token-12345> postgres://user:$PASSWORD1@host api_key=****************',
    ],
    [
      'a URL without a password',
      'https://example.org:8443/a@b?c=d:e@f git@github.com:ada/repo.git mailto:ada@example.org',
    ],
    ['a public key', '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----'],
    ['a key header without data', 'A file that begins with -----BEGIN PRIVATE KEY----- and words after it.'],
    ['a slug', 'https://example.org/sk-learn-random-forest-tutorial-for-beginners/npm_run_build_and_more_of_it_all'],
    ['a string that only resembles a JWT', 'eyJhbGciOi.eyJzdWIi.c2ln and eyJub3QgYSBoZWFkZXI.eyJ4IjoxfQ.abcdefgh'],
    [
      'the word "bearer" in prose',
      'Bearer of responsibilities-and-duties; bearer bonds issued-in-the-nineteenth-century',
    ],
    ['prose', 'Ada moved to Lyon in 2019, pays rent on the 3rd and is allergic to walnuts.'],
    ['prose in German', 'Das Geheimnis: Er hat im Schlüsselbund 12 Schlüssel, Zimmer B204, Kennzeichen M-AB 1234.'],
    ['prose in Japanese', '明日は午後3時に東京駅で会議があります。電話は03-1234-5678です。'],
    ['prose in Arabic', 'الاجتماع يوم الثلاثاء الساعة ١٠ في القاعة ٢٠٤.'],
    ['prose in Chinese', '他的秘密是喜欢在凌晨2点写代码，航班CA1234，座位12A。'],
  ])('the redactor of known formats does not redact %s', (_, text) => {
    expect(knownFormats.redact(text)).toEqual({ text, kinds: [] });
  });
});
