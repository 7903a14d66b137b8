type Granularity = 'sentence' | 'word' | 'grapheme';

/** Returns the sentences of a text (UAX 29). */
export const getSentences = createSegmenter('sentence');
/** Returns the words of a text, and the blanks and signs between them (UAX 29). */
export const getWords = createSegmenter('word');
/** Returns the graphemes of a text: letters with their marks, and emoji of several code points (UAX 29). */
export const getGraphemes = createSegmenter('grapheme');

// Created on first use: the first segmenter of a process takes 17 ms, which would delay the start.
function createSegmenter(granularity: Granularity): (text: string) => Intl.Segments {
  let segmenter: Intl.Segmenter | undefined;
  return (text) => {
    segmenter ??= new Intl.Segmenter('en', { granularity });
    return segmenter.segment(text);
  };
}
