import type { Question, Store, Turn } from '../dataset.ts';

/** A fact with the placeholders `NAME` and `VALUE`, a question with the placeholder `NAME`, and values for `VALUE`. */
type Template = readonly [fact: string, question: string, values: readonly string[]];

const NAMES = ['Aurelio', 'Birgit', 'Chidi', 'Dagny', 'Emre', 'Fumiko', 'Goran', 'Halina', 'Ibrahim', 'Jolanda'];

const TEMPLATES: readonly Template[] = [
  ['NAME is allergic to VALUE.', 'What must NAME not eat?', ['peanuts', 'shellfish', 'sesame', 'celery', 'lupins']],
  ['NAME drives a VALUE to work.', 'How does NAME get to the office?', ['moped', 'green van', 'hired car', 'tractor']],
  ['NAME was born in VALUE.', 'Which is the birthplace of NAME?', ['Tromsø', 'Valparaíso', 'Leeds', 'Kumasi', 'Graz']],
  ['NAME plays the VALUE in a band.', 'Which instrument does NAME play?', ['bassoon', 'drums', 'oud', 'harp']],
  ['The dentist of NAME is Dr. VALUE.', 'Who looks after the teeth of NAME?', ['Okafor', 'Lindqvist', 'Amato', 'Baur']],
  ['NAME owes the landlord VALUE euros.', 'How much rent is NAME behind with?', ['340', '1,200', '75', '615', '90']],
  ['NAME takes VALUE against high blood pressure.', 'Which medicine was NAME given?', ['ramipril', 'losartan']],
  ['The wedding of NAME was on VALUE.', 'When did NAME get married?', ['3 May 2009', '17 August 2015', '30 June 1998']],
  [
    'NAME keeps VALUE in the garden.',
    'Which animals does NAME have?',
    ['four hens', 'two goats', 'bees', 'a tortoise'],
  ],
  [
    'The wifi password of NAME is VALUE.',
    'How do I get on the network of NAME?',
    ['blue-otter-41', 'k7!mellow', 'x99'],
  ],
  ['NAME wants to learn VALUE next year.', 'Which language would NAME like to speak?', ['Welsh', 'Korean', 'Swahili']],
  [
    'NAME failed the exam in VALUE.',
    'Which subject went badly for NAME?',
    ['statistics', 'anatomy', 'Latin', 'tax law'],
  ],
  ['NAME sold the flat in VALUE.', 'Where did NAME use to live?', ['Porto', 'Ghent', 'Split', 'Turku', 'Malmö']],
  ['The flight of NAME leaves at VALUE.', 'When does NAME have to be at the gate?', ['6:40', '13:05', '22:15', '9:30']],
  ['NAME prefers VALUE to coffee.', 'What does NAME drink in the morning?', ['rooibos', 'cocoa', 'mate', 'hot water']],
  ['NAME broke the VALUE while skiing.', 'Which bone did NAME fracture?', ['left wrist', 'collarbone', 'right ankle']],
  ['NAME reports to VALUE since spring.', 'Who is the boss of NAME?', ['Ms Tanaka', 'Mr Oyelaran', 'Ms Keller']],
  ['The locker code of NAME is VALUE.', 'How is the cupboard of NAME opened?', ['4471', '0093', '8216', '5530']],
  ['NAME supports VALUE in football.', 'Which club does NAME cheer for?', ['Sturm', 'Betis', 'Hearts', 'Ajax']],
  ['NAME volunteers at the VALUE on Sundays.', 'What unpaid work does NAME do?', ['hospice', 'food bank', 'zoo']],
  ['The laptop of NAME runs VALUE.', 'Which operating system does NAME use?', ['Debian', 'FreeBSD', 'Haiku']],
  ['NAME has read VALUE eleven times.', 'What is the favourite book of NAME?', ['Emma', 'Dune', 'Momo', 'Ulysses']],
  [
    'NAME painted the kitchen VALUE.',
    'Which colour are the walls that NAME cooks between?',
    ['ochre', 'mint', 'coral'],
  ],
  [
    'The thesis of NAME is about VALUE.',
    'What does NAME do research on?',
    ['lichens', 'tolls', 'tidal power', 'guilds'],
  ],
  ['NAME cancelled the subscription to VALUE.', 'Which paper does NAME no longer get?', ['Le Monde', 'Die Zeit']],
  ['NAME swims VALUE lengths a week.', 'How much does NAME train in the pool?', ['forty', 'a hundred', 'twelve']],
  ['NAME lent VALUE the ladder.', 'Who has the steps of NAME?', ['Petra', 'old Mr Ruiz', 'the caretaker', 'Nadia']],
  ['NAME is afraid of VALUE.', 'What frightens NAME?', ['moths', 'lifts', 'thunder', 'deep water', 'clowns']],
  ['The insurance of NAME ends in VALUE.', 'Until when is NAME covered?', ['March 2027', 'October 2026', 'July 2028']],
  ['NAME inherited a VALUE from an aunt.', 'What was NAME left in a will?', ['grand piano', 'vineyard', 'stamp album']],
];

/** Creates 300 unrelated facts, many with similar wording, each with a question. */
export function createUnrelatedFacts(): Store {
  const turns: Turn[] = [];
  const questions: Question[] = [];
  TEMPLATES.forEach(([fact, question, values], row) => {
    NAMES.forEach((name, column) => {
      const id = `${row}-${column}`;
      const value = values[column % values.length] as string;
      const text = fact.replace('NAME', name).replace('VALUE', value);
      turns.push({ id, text, session: null, timestamp: null, speaker: null });
      questions.push({
        id,
        text: question.replace('NAME', name),
        category: 'fact',
        relevant: [id],
        at: null,
        askedAt: null,
      });
    });
  });
  return { name: 'unrelated-facts', turns, questions };
}
