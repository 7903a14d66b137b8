"""The version of this package, which all packages of memoryd share."""

VERSION = "0.1.0"
