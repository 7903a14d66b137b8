/** The version of this package, which all packages of memoryd share. */
export const VERSION = '0.1.0';
