/**
 * Keeps onnxruntime from reporting to its maker what it runs, which its builds for Linux and macOS do since 1.29 unless the
 * environment of the process says otherwise when it is first used. To be called before that, in the main thread: the
 * environment of another is a copy that native code does not see. What the variable says already stands.
 */
export function keepUnreported(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}
