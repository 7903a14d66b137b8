import { describe, expect, it } from 'vitest';
import { chatgpt } from './chatgpt.ts';
import { countTexts } from './count-texts.fixture.ts';
import { readFile } from './read-format.fixture.ts';

type Json = Record<string, unknown>;

const MARCH = Date.UTC(2026, 2, 1, 9) / 1000;

/** A message as exports of 2026 have it. */
function message(id: string, role: string, parts: unknown[], more: Json = {}): Json {
  return {
    id,
    author: { role, name: null, metadata: {} },
    create_time: MARCH,
    update_time: null,
    content: { content_type: 'text', parts },
    status: 'finished_successfully',
    end_turn: null,
    weight: 1,
    metadata: {},
    recipient: 'all',
    channel: null,
    ...more,
  };
}

const ROOT = { id: 'client-created-root', message: null, parent: null, children: [] as string[] };

/** A conversation in which each message follows the one before it. */
function chain(messages: (Json | null)[], more: Json = {}): Json {
  const ids = ['client-created-root', ...messages.map((one, index) => (one?.id as string) ?? `node-${index}`)];
  const nodes = messages.map((one, index) => {
    const id = ids[index + 1] as string;
    return [id, { id, message: one, parent: ids[index], children: ids.slice(index + 2, index + 3) }];
  });
  const mapping = { [ROOT.id]: { ...ROOT, children: ids.slice(1, 2) }, ...Object.fromEntries(nodes) };
  return {
    title: 'Garden plans',
    create_time: MARCH - 60,
    update_time: MARCH,
    mapping,
    moderation_results: [],
    current_node: ids.at(-1),
    conversation_id: 'c1',
    id: 'c1',
    default_model_slug: 'gpt-5',
    ...more,
  };
}

const ASK = message('m1', 'user', ['Which roses stand shade?'], { create_time: MARCH + 0.5 });
const ANSWER = message('m2', 'assistant', ['Ada, try the climbing ones.'], { create_time: MARCH + 2.25 });

const read = (conversations: unknown, options = {}) =>
  readFile(chatgpt, typeof conversations === 'string' ? conversations : JSON.stringify(conversations), options);

describe('the export of ChatGPT', () => {
  it('reads each message with its role, time, conversation and title', async () => {
    const { texts, refused, leftOut } = await read([chain([ASK, ANSWER])], { path: 'conversations-000.json' });

    expect(texts).toEqual([
      {
        content: 'Which roses stand shade?',
        external_id: 'chatgpt:c1/m1',
        session_id: 'chatgpt:c1',
        source: 'chatgpt',
        tags: ['role:user'],
        created_at: '2026-03-01T09:00:00.500Z',
        metadata: { title: 'Garden plans' },
      },
      {
        content: 'Ada, try the climbing ones.',
        external_id: 'chatgpt:c1/m2',
        session_id: 'chatgpt:c1',
        source: 'chatgpt',
        tags: ['role:assistant'],
        created_at: '2026-03-01T09:00:02.250Z',
        metadata: { title: 'Garden plans' },
      },
    ]);
    expect({ refused, leftOut }).toEqual({ refused: [], leftOut: {} });
  });

  it('reads the exports of 2023, which have fewer fields, and a root with an empty message of the system', async () => {
    const first = { id: 'n1', author: { role: 'system' }, content: { content_type: 'text', parts: [''] }, weight: 1 };
    const second = {
      id: 'n2',
      author: { role: 'user' },
      content: { content_type: 'text', parts: ['Hello'] },
      create_time: MARCH,
    };
    const mapping = {
      n1: { id: 'n1', message: first, parent: null, children: ['n2'] },
      n2: { id: 'n2', message: second, parent: 'n1', children: [] },
    };
    const { ids, leftOut } = await read([{ title: 'Hi', create_time: MARCH, mapping, current_node: 'n2', id: 'old' }]);

    expect(ids).toEqual(['chatgpt:old/n2']);
    expect(leftOut).toEqual({ system: 1 });
  });

  it('reads a file with one conversation that is no array', async () => {
    expect((await read(chain([ASK]))).contents).toEqual(['Which roses stand shade?']);
  });

  it('returns the same ids and texts when the export is read again, or is newer and longer', async () => {
    const before = await read([chain([ASK, ANSWER])]);
    const after = await read(JSON.stringify([chain([ASK, ANSWER, message('m3', 'user', ['Thanks'])])], undefined, 1));

    expect(await read([chain([ASK, ANSWER])])).toEqual(before);
    expect(after.texts.slice(0, 2)).toEqual(before.texts);
  });

  describe('branches', () => {
    const edited = message('m1b', 'user', ['Which roses need sun?'], { create_time: MARCH + 100 });
    const reply = message('m2b', 'assistant', ['Most of them.'], { create_time: MARCH + 101 });
    const node = (id: string, parent: string | null, children: string[], one: Json | null = null) => ({
      ...{ id, parent, children },
      message: one,
    });
    const tree = {
      root: node('root', null, ['m1', 'm1b']),
      m1: node('m1', 'root', ['m2'], ASK),
      m2: node('m2', 'm1', [], ANSWER),
      m1b: node('m1b', 'root', ['m2b'], edited),
      m2b: node('m2b', 'm1b', ['t'], reply),
      t: node('t', 'm2b', [], message('t', 'tool', ['x'], { create_time: MARCH + 102 })),
    };
    const readTree = (mapping: Json, current: unknown) => read([{ ...chain([]), mapping, current_node: current }]);

    it('leaves out and counts the branches other than the one that the conversation shows', async () => {
      const { contents, leftOut } = await readTree(tree, 'm2');

      expect(contents).toEqual(['Which roses stand shade?', 'Ada, try the climbing ones.']);
      expect(leftOut).toEqual({ branch: 2, tool: 1 });
    });

    it.each([
      ['is missing', undefined],
      ['is null', null],
      ['names no message', 'gone'],
      ['is a number', 7],
    ])('takes the branch with the newest message if current_node %s', async (_, current) => {
      expect((await readTree(tree, current)).contents).toEqual(['Which roses need sun?', 'Most of them.']);
    });

    it.each([
      ['children are missing', (one: Json) => ({ ...one, children: undefined })],
      ['parents are missing', (one: Json) => ({ ...one, parent: undefined })],
    ])('follows the messages of a branch if the %s', async (_, change) => {
      const mapping = Object.fromEntries(Object.entries(tree).map(([id, one]) => [id, change(one)]));

      expect((await readTree(mapping, 'm2')).contents).toHaveLength(2);
    });

    it('follows a branch past a message that the file does not have', async () => {
      const { m2: _, ...rest } = tree;
      const after = node('m3', 'm2', [], message('m3', 'user', ['And in autumn?']));

      const { contents } = await readTree({ ...rest, m3: after }, 'm3');

      expect(contents).toEqual(['Which roses stand shade?', 'And in autumn?']);
    });

    it('ends a branch at a cycle of parents', async () => {
      const mapping = { a: node('a', 'b', ['b'], ASK), b: node('b', 'a', ['a'], ANSWER) };

      expect((await readTree(mapping, 'b')).contents).toEqual([
        'Which roses stand shade?',
        'Ada, try the climbing ones.',
      ]);
      expect((await readTree(mapping, null)).contents).toHaveLength(2);
    });
  });

  it.each([
    [
      'a hidden message',
      'hidden',
      message('x', 'user', ['x'], { metadata: { is_visually_hidden_from_conversation: true } }),
    ],
    ['a message of weight 0', 'hidden', message('x', 'assistant', ['x'], { weight: 0 })],
    [
      'the instructions of the person',
      'system',
      message('x', 'user', [], { content: { content_type: 'user_editable_context', user_profile: 'Ada' } }),
    ],
    [
      'the memory that ChatGPT gives to the model',
      'system',
      message('x', 'assistant', [], { content: { content_type: 'model_editable_context', model_set_context: 'Ada' } }),
    ],
    ['a message of the system', 'system', message('x', 'system', ['x'])],
    ['the result of a tool', 'tool', message('x', 'tool', ['x'])],
    ['the call of a tool', 'tool', message('x', 'assistant', ['{"q":"roses"}'], { recipient: 'web.run' })],
    [
      'code for a tool',
      'tool',
      message('x', 'assistant', [], { content: { content_type: 'code', text: 'search("x")' } }),
    ],
    [
      'the output of code',
      'tool',
      message('x', 'tool', [], { content: { content_type: 'execution_output', text: '7' } }),
    ],
    [
      'thoughts',
      'thought',
      message('x', 'assistant', [], { content: { content_type: 'thoughts', thoughts: [{ summary: 'x' }] } }),
    ],
    [
      'the time of the thoughts',
      'thought',
      message('x', 'assistant', [], { content: { content_type: 'reasoning_recap', content: '7 s' } }),
    ],
    [
      'an announcement of the thoughts',
      'thought',
      message('x', 'assistant', ['Let me see'], { metadata: { is_thinking_preamble_message: true } }),
    ],
    ['a message without text', 'empty', message('x', 'assistant', [''])],
    ['a message of an unknown role', 'role', message('x', 'critic', ['x'])],
  ])('leaves out %s as "%s"', async (_, reason, one) => {
    const { contents, leftOut } = await read([chain([ASK, one, ANSWER])]);

    expect(contents).toHaveLength(2);
    expect(leftOut).toEqual({ [reason]: 1 });
  });

  it.each([
    [
      'text with an image',
      [{ content_type: 'image_asset_pointer', asset_pointer: 'file-service://f1' }, 'What is this?'],
      ['What is this?'],
      1,
    ],
    ['an image alone', [{ content_type: 'image_asset_pointer', asset_pointer: 'sediment://f1' }], [], 1],
    [
      'a spoken message',
      [
        { content_type: 'audio_transcription', text: 'Water them today', direction: 'in', decoding_id: null },
        { content_type: 'real_time_user_audio_video_asset_pointer', audio_asset_pointer: { asset_pointer: 'f2' } },
      ],
      ['Water them today'],
      1,
    ],
    ['several texts', ['One', { content_type: 'text', text: 'Two' }], ['One\nTwo'], 0],
  ])('keeps the texts of %s, and counts its other parts', async (_, parts, contents, count) => {
    const one = message('x', 'user', [], { content: { content_type: 'multimodal_text', parts } });
    const found = await read([chain([one])]);

    expect(found.contents).toEqual(contents);
    expect(found.leftOut).toEqual(count === 0 ? {} : { attachment: count });
  });

  it('counts each attached image and file once', async () => {
    const parts = [{ content_type: 'image_asset_pointer', asset_pointer: 'file-service://f1' }, 'Look'];
    const metadata = {
      attachments: [
        { id: 'f1', name: 'rose.png' },
        { id: 'f2', name: 'plan.pdf' },
      ],
    };
    const one = message('x', 'user', [], { content: { content_type: 'multimodal_text', parts }, metadata });

    expect((await read([chain([one])])).leftOut).toEqual({ attachment: 2 });
  });

  it('takes the time of the message before for a missing time, and the time of the conversation for the first', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const times = [null, MARCH + 5, null, 0, '2026-03-01T10:00:07+01:00'];
    const messages = ids.map((id, index) => message(id, 'user', [id], { create_time: times[index] }));
    const { texts } = await read([chain(messages)]);

    expect(texts.map((text) => text.created_at)).toEqual([
      '2026-03-01T08:59:00.000Z',
      '2026-03-01T09:00:05.000Z',
      '2026-03-01T09:00:05.000Z',
      '2026-03-01T09:00:05.000Z',
      '2026-03-01T09:00:07.000Z',
    ]);
  });

  it.each([
    ['a source', 'Roses \ue200cite\ue202turn0search0\ue202turn1news2\ue201. Next', 'Roses. Next'],
    ['a file', 'As planned.\ue200filecite\ue202turn2file0\ue201', 'As planned.'],
    ['an entity', 'Ask \ue200entity\ue202["company","Rose & Co","nursery"]\ue201 today', 'Ask Rose & Co today'],
    ['a link', 'See \ue200url\ue202Roses\ue202https://example.com/a\ue201.', 'See [Roses](https://example.com/a).'],
    ['a link to a result', 'See \ue200link_title\ue202Roses\ue202turn0search1\ue201.', 'See Roses.'],
    ['a group of images', '\ue200image_group\ue202{"query":["roses"]}\ue201\nText', 'Text'],
    ['a marked passage', '\ue203Roses need sun.\ue204 \ue202turn0search0', 'Roses need sun.'],
    ['an interrupted source', 'Roses \ue200cite\ue202turn0sea', 'Roses'],
    ['a source of former years', 'Roses【12†L3-L9】 and【4:0†plan.pdf】.', 'Roses and.'],
    ['a reference of former years', 'Roses :contentReference[oaicite:2]{index=2}.', 'Roses.'],
    ['no mark', 'Use 【brackets】 and `\\ue200` as they are', 'Use 【brackets】 and `\\ue200` as they are'],
  ])('removes the mark of %s from answers', async (_, text, content) => {
    expect((await read([chain([message('x', 'assistant', [text])])])).contents).toEqual([content]);
    expect((await read([chain([message('x', 'user', [text])])])).contents).toEqual([text]);
  });

  it('removes what cannot be stored: U+0000 and halves of surrogate pairs', async () => {
    const { contents } = await read([chain([message('x', 'user', ['a\0b\ud800c'])])]);

    expect(contents).toEqual(['ab\ufffdc']);
  });

  it('returns an id and a session that can be stored for ids of any length', async () => {
    const long = 'x'.repeat(3000);
    const { texts } = await read([chain([{ ...ASK, id: long }], { conversation_id: long, title: long })]);

    expect(texts).toHaveLength(1);
  });

  it('refuses a broken conversation, and reads the others', async () => {
    const text = `[${JSON.stringify(chain([ASK]))},{"title":"x","mapping":{"a":oops}},${JSON.stringify(chain([ANSWER], { conversation_id: 'c3' }))}]`;
    const { ids, refused } = await read(text);

    expect(ids).toEqual(['chatgpt:c1/m1', 'chatgpt:c3/m2']);
    expect(refused).toEqual([{ place: 'conversation 2', reason: expect.stringContaining('must be valid JSON') }]);
  });

  it('reads the conversations before the end of a truncated file, and refuses the rest once', async () => {
    const text = JSON.stringify([chain([ASK]), chain([ANSWER], { conversation_id: 'c2' })]);
    const cut = await read(text.slice(0, -200));

    expect(cut.ids).toEqual(['chatgpt:c1/m1']);
    expect(cut.refused).toEqual([{ place: 'conversation 2', reason: 'the JSON ends in the middle' }]);
    expect((await read(text.slice(0, -200), { isTruncated: true })).refused).toEqual([
      { place: 'conversation 2', reason: 'the entry is truncated' },
    ]);
  });

  it.each([
    ['a conversation that is null', null, 'a conversation must be an object'],
    ['a conversation that is a text', 'Garden', 'a conversation must be an object'],
    [
      'a mapping that is null',
      chain([], { mapping: null }),
      'mapping must be an object with the messages of the conversation',
    ],
    [
      'a mapping that is an array',
      chain([], { mapping: [] }),
      'mapping must be an object with the messages of the conversation',
    ],
    ['a message that is a text', chain(['Hello' as never]), 'message must be an object or null'],
  ])('refuses %s, and reads the next conversation', async (_, value, reason) => {
    const { ids, refused } = await read([value, chain([ASK])]);

    expect(ids).toEqual(['chatgpt:c1/m1']);
    expect(refused).toEqual([{ place: expect.stringMatching(/^conversation 1/), reason }]);
  });

  it('reads what it can from values of wrong types', async () => {
    const wrong = [null, 7, 'x', [], {}, true];
    const nodes = wrong.flatMap((value, index) => [
      [`node${index}`, value],
      [`parent${index}`, { message: ASK, parent: value, children: value }],
      [`author${index}`, { message: { ...ASK, author: value }, parent: null, children: [value] }],
      [`content${index}`, { message: { ...ASK, content: value, metadata: value, id: value } }],
      [`parts${index}`, { message: { ...ASK, content: { content_type: value, parts: value } } }],
      [`part${index}`, { message: { ...ASK, content: { parts: [value] }, create_time: value, channel: value } }],
    ]);
    const mapping = Object.fromEntries(nodes);
    const chats = nodes.map(([current_node], index) => {
      const value = wrong[index % wrong.length];
      return { title: value, create_time: value, id: value, conversation_id: value, mapping, current_node };
    });

    const { ids, refused } = await read([...chats, chain([ASK])]);

    expect(refused).toEqual([]);
    expect(ids.at(-1)).toBe('chatgpt:c1/m1');
  });

  it('reads fields named like properties of objects', async () => {
    const text = JSON.stringify([chain([ASK, ANSWER])])
      .replaceAll('"m1"', '"__proto__"')
      .replaceAll('"m2"', '"constructor"');

    expect((await read(text)).ids).toEqual(['chatgpt:c1/__proto__', 'chatgpt:c1/constructor']);
  });

  it('reads a conversation of 5,000 messages', async () => {
    const messages = Array.from({ length: 5000 }, (_, index) => message(`m${index}`, 'user', [`Note ${index}`]));

    expect(await countTexts(chatgpt, JSON.stringify([chain(messages)]))).toBe(5000);
  });

  it.each([
    ['an export', true, JSON.stringify([chain([ASK])])],
    ['an indented export', true, JSON.stringify([chain([ASK])], undefined, 2)],
    ['the beginning of an export', true, JSON.stringify([chain([ASK, ANSWER])]).slice(0, 200)],
    ['a conversation without messages', true, JSON.stringify([chain([], { mapping: null })])],
    ['user.json', false, '{"id":"user-1","email":"ada@example.com","chatgpt_plus_user":true}'],
    [
      'message_feedback.json',
      false,
      '[{"message_id":"m1","conversation_id":"c1","rating":"thumbs_up","content":"{}"}]',
    ],
    [
      'shared_conversations.json',
      false,
      '[{"id":"s1","conversation_id":"c1","title":"Garden plans","is_anonymous":true}]',
    ],
    ['export_manifest.json', false, '{"files":[{"name":"conversations-000.json"}]}'],
    [
      'chat.html',
      false,
      '<html><script>var jsonData = [{"title":"x","mapping":{"a":{"message":null}}}]</script></html>',
    ],
    ['a text about exports', false, JSON.stringify([{ text: 'Use "mapping": and "current_node": in it' }])],
    ['an export of Claude', false, '[{"uuid":"c1","name":"x","chat_messages":[]}]'],
  ])('recognizes an export of ChatGPT by its content: %s: %s', (_, expected, text) => {
    expect(chatgpt.recognizes({ path: 'conversations.json', text, isWhole: true })).toBe(expected);
  });
});
