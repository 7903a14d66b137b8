/** A memory and a natural question for it that has no word in common with it. */
export interface Asked {
  memory: string;
  question: string;
}

/** Memories that recall must find by meaning. */
export const ASKED: Asked[] = [
  {
    memory: 'Our golden retriever swallowed a sock, so Dr. Ellis operated on Tuesday.',
    question: 'Which pet needed surgery?',
  },
  { memory: 'Maria is allergic to peanuts and shellfish.', question: 'What foods must the cook avoid for her?' },
  {
    memory: 'He relocated from Oslo to Lisbon for a job at a bank.',
    question: 'Where does my friend live now, and which city did his career bring him into?',
  },
  {
    memory: 'The outage happened because an expired TLS certificate was never renewed.',
    question: 'Why did our website go down?',
  },
  { memory: 'We celebrate our wedding anniversary every June 14th.', question: 'When did they get married?' },
  {
    memory: 'She plays cello in a string quartet on Thursday evenings.',
    question: 'Which musical instrument does my sister practise?',
  },
];

/** Memories about other topics, among which recall must find those of `ASKED`. */
export const EVERYDAY: string[] = [
  'The boiler was serviced in autumn and its filter replaced.',
  'Invoices go out on the first working day of each month.',
  'The blue bicycle has a slow puncture in its rear tyre.',
  'Grandmother’s plum cake takes four eggs and a pinch of cinnamon.',
  'The night train to Vienna leaves from platform nine.',
  'Prefers dark roast coffee without sugar.',
  'The library book about glaciers is due back on Friday.',
  'Tomatoes in the greenhouse want water every second day.',
  'The printer on the third floor jams with heavy paper.',
  'Theo scored two goals in the final of the school cup.',
  'The lease of the flat ends in March with three months’ notice.',
  'Unit tests run on every push, the slow ones at night.',
  'The museum is closed on Mondays except on holidays.',
  'Her new glasses have a stronger lens on the left.',
  'The ferry was cancelled on account of strong winds.',
  'Backups of the photo archive are kept in a fireproof box.',
  'The neighbour’s cat sleeps on the warm bonnet of the van.',
  'Election posters must be taken down within a week.',
  'The hiking boots need new laces before the trip.',
  'The quarterly report compares sales in Europe and Asia.',
  'A kilogram of flour makes about eight small loaves.',
  'The piano in the hall was tuned by an apprentice.',
  'Meteor showers are best watched after midnight.',
  'The dishwasher leaves white spots on wine glasses.',
  'The code review of the parser found a missing bounds check.',
  'Cousin Ada collects stamps from islands.',
  'The garden fence was painted green last summer.',
  'The dentist moved to an office above the bakery.',
  'Parking near the stadium costs twelve euros on match days.',
  'The spare bulbs are in the drawer under the stairs.',
];

const SUBJECTS = ['ore', 'timber', 'wool', 'barley', 'granite', 'salt', 'copper', 'hemp', 'coal', 'slate'];
const PLACES = ['the north dock', 'a barge', 'the upper mill', 'warehouse six', 'the old quay', 'a railway siding'];
const ACTS = ['was weighed at', 'was unloaded from', 'lay waiting by', 'was sampled near', 'passed through'];

/** Returns `count` distinct memories about freight, a topic that no other memory of this file has. */
export function unrelated(count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const subject = SUBJECTS[n % SUBJECTS.length];
    const act = ACTS[Math.floor(n / SUBJECTS.length) % ACTS.length];
    const place = PLACES[Math.floor(n / 50) % PLACES.length];
    return `Consignment ${1000 + n} of ${subject} ${act} ${place}.`;
  });
}

/** Returns the distinct words of a text in lower case. */
export function getWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
