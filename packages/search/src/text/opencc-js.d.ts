/** A dictionary of OpenCC, as `key replacement replacement|key replacement`. */
declare module 'opencc-js/dict/*' {
  const dictionary: string;
  export default dictionary;
}
