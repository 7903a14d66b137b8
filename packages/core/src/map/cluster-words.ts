import { LIMITS } from '@memoryd/contract/limits';
import { contentWords } from '@memoryd/search';

/** Memories that are kept with each word: a word is shown as long as one of them has it. */
const MAX_HOLDERS = 8;

/** Words of other lengths name nothing, or fill the map. */
const [MIN_CHARS, MAX_CHARS] = [2, 32];

/** Minimum memories of a cluster that have a word of its name. */
const MIN_HOLDERS = 2;

/** Added to both shares of a word, so that a rare word is not preferred for a few memories. */
const SMOOTHING = 0.02;

/** A word as people wrote it, and the first of the memories of the cluster that have it in this form, by their index. */
export interface ClusterWord {
  word: string;
  holders: number[];
}

/** A text of a memory, by its index, and the cluster of the memory. */
export interface ClusterText {
  index: number;
  cluster: number;
  text: string;
}

/** The number of texts of each cluster that have a word, and the forms in which they have it. */
interface Usage {
  counts: Int32Array;
  total: number;
  /** By cluster and written form: the indexes of all memories. */
  forms: Map<string, number[]>[];
}

/** Returns the words of each cluster that are frequent in its texts and rare in the others, best first. */
export function getClusterWords(texts: readonly ClusterText[], count: number): ClusterWord[][] {
  const sizes = new Int32Array(count);
  const usages = new Map<string, Usage>();
  for (const { index, cluster, text } of texts) {
    sizes[cluster] = (sizes[cluster] as number) + 1;
    for (const [stem, written] of getForms(text)) {
      const usage: Usage = usages.get(stem) ?? {
        ...{ counts: new Int32Array(count), total: 0 },
        forms: Array.from({ length: count }, () => new Map()),
      };
      usages.set(stem, usage);
      usage.counts[cluster] = (usage.counts[cluster] as number) + 1;
      usage.total++;
      const forms = usage.forms[cluster] as Map<string, number[]>;
      const holders = forms.get(written) ?? [];
      forms.set(written, holders);
      holders.push(index);
    }
  }
  return Array.from({ length: count }, (_, cluster) => {
    const size = sizes[cluster] as number;
    const getScore = ({ counts, total }: Usage) => {
      const own = counts[cluster] as number;
      const inside = own / size;
      const outside = (total - own) / Math.max(1, texts.length - size);
      return inside * Math.log((inside + SMOOTHING) / (outside + SMOOTHING));
    };
    return [...usages.values()]
      .filter(({ counts }) => (counts[cluster] as number) >= MIN_HOLDERS)
      .map((usage) => ({ usage, score: getScore(usage) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, LIMITS.clusterWords)
      .map(({ usage }) => getUsualForm(usage.forms[cluster] as Map<string, number[]>));
  });
}

/** Returns the words of a text by stem, each in the form in which it comes first. */
function getForms(text: string): Map<string, string> {
  const forms = new Map<string, string>();
  for (const { written, stem } of contentWords(text)) {
    const isName = written.length >= MIN_CHARS && written.length <= MAX_CHARS && /\p{L}/u.test(written);
    if (isName && !forms.has(stem)) forms.set(stem, written);
  }
  return forms;
}

function getUsualForm(forms: ReadonlyMap<string, number[]>): ClusterWord {
  const [[word, holders]] = [...forms].sort(([, one], [, other]) => other.length - one.length) as [[string, number[]]];
  return { word, holders: holders.slice(0, MAX_HOLDERS) };
}
