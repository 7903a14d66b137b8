/* The part of chrono that is used; the build bundles no more of it. */
export {
  de,
  en,
  es,
  fi,
  fr,
  it,
  ja,
  nl,
  type ParsedComponents,
  type ParsedResult,
  pt,
  ru,
  sv,
  uk,
  zh,
} from 'chrono-node';
