/** Prefixes and lengths that say enough: those of Maestro begin so many numbers that a tenth of all orders would be cards. */
const ISSUED = new RegExp(
  [
    '4[0-9]{15}', // Visa
    '5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}', // Mastercard
    '3[47][0-9]{13}', // American Express
    '3(?:0[0-5]|[689][0-9])[0-9]{11}', // Diners Club
    '6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}', // Discover
    '35(?:2[89]|[3-8][0-9])[0-9]{12}', // JCB
    '62[0-9]{14,17}', // UnionPay
    '220[0-4][0-9]{12}', // Mir
  ]
    .map((form) => `^(?:${form})$`)
    .join('|'),
);

/** Whether digits, apart from blanks and hyphens, are the number of a card: an issuer's (ISO 7812-1), with the right sum. */
export function isPaymentCard(number: string): boolean {
  const digits = number.replace(/[ -]/g, '');
  return ISSUED.test(digits) && luhnSum(digits) % 10 === 0;
}

/** ISO 7812-1, annex B: every second digit from the right but the last counts twice, by the sum of its own digits. */
function luhnSum(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const counted = i % 2 === 1 ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum;
}
