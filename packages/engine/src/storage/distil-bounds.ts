/** Waiting memories that one call goes past, whether or not they can be looked at now. */
export const PASSED_AT_ONCE = 256;

/** Nearest memories that are looked at for each vector of a candidate: several times as many as a group has. */
export const NEAREST = 32;

/** Vectors of a candidate by which its neighbours are looked for; a text of more parts is about no one thing. */
export const MOST_VECTORS = 4;

/** How much of a candidate's text is read for its words. */
export const WORDS_CHARS = 8192;
