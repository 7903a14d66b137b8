import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from './token-estimate.ts';

const PROSE = {
  English: 'Yesterday we decided that tickets will cost more from May on, because fuel has become dearer.',
  code: 'export const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);',
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
  Chinese: '昨天我们决定从五月起提高票价，因为燃料变贵了。',
  Japanese: '昨日、燃料が高くなったため、五月から切符の値段を上げることにしました。',
  Korean: '어제 우리는 연료가 비싸져서 5월부터 표 값을 올리기로 했습니다.',
};

describe('estimateTokens', () => {
  it.each(Object.entries(PROSE))('returns 0.9 to 2 times the token count of real tokenizers for %s', (_name, text) => {
    const counted = Math.max(countO200k(text), countCl100k(text));
    expect(estimateTokens(text)).toBeGreaterThan(0.9 * counted);
    expect(estimateTokens(text)).toBeLessThan(2 * counted);
  });

  it('returns 0 for an empty text', () => {
    expect(estimateTokens('')).toBe(0);
  });
});
