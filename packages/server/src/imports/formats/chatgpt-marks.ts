const MARKS = /[\ue200-\ue206\u3010]|:contentReference/;

/** A reference: `NAME`, and arguments after U+E202. */
const REFERENCE = / ?\ue200([^\ue200\ue201]*)\ue201/g;
/** A reference that an interrupted answer did not end, or one without borders. */
const OPEN_REFERENCE = / ?(?:\ue200\w*)?\ue202[^\s\ue200-\ue206]*/g;
/** U+E203 and U+E204 enclose a text that a source supports; U+E206 encloses other texts. The text itself stays. */
const BORDER = /[\ue200-\ue206]/g;
/** References of older answers, such as `【12†L3-L9】` and `:contentReference[oaicite:2]{index=2}`. */
const FORMER_REFERENCE =
  / ?(?:\u3010[^\u3010\u3011\u2020\n]{1,100}\u2020[^\u3010\u3011\n]{0,200}\u3011|:contentReference\[oaicite:\d+\]\{index=\d+\})/g;

/**
 * Returns an answer of ChatGPT without the marks that the program replaces by links and cards. The name of an entity
 * and the title of a link stay.
 */
export function removeMarks(text: string): string {
  if (!MARKS.test(text)) return text;
  return text
    .replace(REFERENCE, (reference, body: string) => {
      const shown = toShownText(body);
      return shown && reference.startsWith(' ') ? ` ${shown}` : shown;
    })
    .replace(OPEN_REFERENCE, '')
    .replace(BORDER, '')
    .replace(FORMER_REFERENCE, '');
}

function toShownText(body: string): string {
  const [name = '', first = '', second = ''] = body.split('\ue202');
  switch (name) {
    case 'entity':
      return toEntityName(first);
    case 'url':
    case 'link_title':
      return /^https?:\/\//.test(second) ? `[${first}](${second})` : first;
    default:
      return '';
  }
}

/** Returns the name in an array of kind, name and description. */
function toEntityName(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) && typeof value[1] === 'string' ? value[1] : '';
  } catch {
    return json;
  }
}
