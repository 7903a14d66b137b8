import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from './token-estimate.ts';

const PROSE: Record<string, string> = {
  English: 'Yesterday we decided that tickets will cost more from May on, because fuel has become dearer.',
  German: 'Die Dampfschifffahrtsgesellschaft hat gestern beschlossen, dass Fahrkarten ab Mai teurer werden.',
  French: 'Hier, nous avons décidé que les billets coûteraient plus cher à partir de mai.',
  Polish: 'Wczoraj postanowiliśmy, że od maja bilety będą droższe, ponieważ paliwo podrożało.',
  Turkish: 'Yakıt pahalandığı için dün biletlerin mayıstan itibaren pahalanmasına karar verdik.',
  Russian: 'Вчера мы решили, что билеты с мая станут дороже, потому что топливо подорожало.',
  Greek: 'Χθες αποφασίσαμε ότι τα εισιτήρια θα ακριβύνουν από τον Μάιο.',
  Arabic: 'قررنا أمس رفع أسعار التذاكر ابتداء من مايو لأن الوقود أصبح أغلى.',
  Hindi: 'कल हमने मई से टिकट की कीमत बढ़ाने का फैसला किया क्योंकि ईंधन महंगा हो गया।',
  Tamil: 'நேற்று மே மாதத்திலிருந்து டிக்கெட் விலையை உயர்த்த முடிவு செய்தோம்',
  Thai: 'เมื่อวานเราตัดสินใจขึ้นราคาตั๋วตั้งแต่เดือนพฤษภาคม',
  Hebrew: 'אתמול החלטנו שהכרטיסים יעלו יותר החל ממאי, כי הדלק התייקר.',
  'traditional Chinese': '昨天我們決定從五月起提高票價，因為燃料變貴了。鑰匙藏在櫥櫃裡。',
  Chinese: '昨天我们决定从五月起提高票价，因为燃料变贵了。',
  Japanese: '昨日、燃料が高くなったため、五月から切符の値段を上げることにしました。',
  Korean: '어제 우리는 연료가 비싸져서 5월부터 표 값을 올리기로 했습니다.',
};

/** Bytes without a pattern, from a linear congruential generator (Numerical Recipes). */
let state = 1;
const bytes = Array.from({ length: 600 }, () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24);
const words = ['Zanzibar', 'e4d909c290d0fb1ca068ffaddf22cbd0', 'getUserNameById', 'MAX_BUFFER_SIZE', 'xkqzvbnm'];

const OTHERS: Record<string, string> = {
  code: estimateTokens.toString(),
  JSON: JSON.stringify({ id: 7, tags: ['role:user'], metadata: { nested: [1, null, true] }, content: 'a\nb' }),
  base64: btoa(String.fromCharCode(...bytes)),
  'hexadecimal digits': bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  'long numbers': '3141592653589793 2718281828459045235360287 +49 170 1234567 1,234,567.89',
  times: '2026-05-07 14:30 2026-11-29T13:55:06.123Z',
  emoji: 'Great news 🎉🎉 we won 🏆 !! 😂❤️👍🏽 see you 👩‍👩‍👧‍👦 🏳️‍🌈 🫨🪿🛝',
  signs: '→ ← ⇒ ✓ ✗ ★ © € £ § ∑ ∫ √ ∞ ≠ ┌─┐│█▓',
  names: words.join(' '),
  'a rare script': 'ᏣᎳᎩ ⲁⲃⲅ བོད་ཡིག་ ሰላም',
  'a listing': '<memories>\n- Thu 2026-05-07 · session "kitchen-2"\n  Mara is allergic to walnuts.\n</memories>',
  'line breaks and blanks': 'a\n\n\n  b\t\tc    d\n        e',
};

describe('estimateTokens', () => {
  it.each(Object.entries({ ...PROSE, ...OTHERS }))(
    'returns at least the count of o200k_base, and less than four times, for %s',
    (_name, text) => {
      const counted = countTokens(text);
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(counted);
      expect(estimateTokens(text)).toBeLessThan(4 * counted);
    },
  );

  it.each(['English', 'German', 'French'])('returns at most 1.8 times the count of o200k_base for %s', (language) => {
    const text = PROSE[language] ?? '';
    expect(estimateTokens(text)).toBeLessThanOrEqual(1.8 * countTokens(text));
  });

  it('returns at least the count of o200k_base for a very long word that ends with a digit', () => {
    // An expression with nested repetitions would never end.
    const text = `${'a'.repeat(100_000)}1`;
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(12_500);
  });

  const TOKENS: [string, number][] = [
    ...Object.entries({ 12: 20, '1a': 25, a1: 25, '12é': 37, '12\u0301': 40, naïve: 43, 'nai\u0308ve': 49, ABc: 32 }),
    ...Object.entries({ userId: 53, xkqzv: 38, "it's": 25, 'it’s': 25, "'s": 30, "its'": 30, a·b: 40, 'a 漢': 34 }),
    ...Object.entries({ 'a 12': 40, 'a  12': 40, 'a\t12': 40, '12 ': 20, '- -': 30, '---': 40, '----': 23 }),
  ];
  it.each(TOKENS)(
    'a piece depends on what is next to it: ten times %j and a semicolon have %d tokens',
    (text, tokens) => {
      expect(estimateTokens(`${text};`.repeat(10))).toBe(tokens);
    },
  );

  it('returns 0 for an empty text', () => {
    expect(estimateTokens('')).toBe(0);
  });
});
