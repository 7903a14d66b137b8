type Granularity = 'sentence' | 'word' | 'grapheme';

/** Returns the sentences of a text (UAX 29). */
export const getSentences = segmentsBy('sentence');
/** Returns the words of a text, and the blanks and signs between them (UAX 29). */
export const getWords = segmentsBy('word');
/** Returns the graphemes of a text: letters with their marks, and emoji of several code points (UAX 29). */
export const getGraphemes = segmentsBy('grapheme');

// Made for the first text: the first segmenter of a process takes 17 ms, which is a part of its start.
function segmentsBy(granularity: Granularity): (text: string) => Intl.Segments {
  let segmenter: Intl.Segmenter | undefined;
  return (text) => {
    segmenter ??= new Intl.Segmenter('en', { granularity });
    return segmenter.segment(text);
  };
}
