const cell = new Int32Array(new SharedArrayBuffer(4));

/** This thread's CPU time so far, in milliseconds: other load on the machine does not add to it. */
export function readThreadCpuMs(): number {
  // Linux updates a thread's CPU time when the thread stops running, otherwise only at timer ticks.
  Atomics.wait(cell, 0, 0, 0.05);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Measures the CPU time that some work takes this thread, in milliseconds. */
export function measureCpuMs(work: () => void): number {
  const startedAtMs = readThreadCpuMs();
  work();
  return readThreadCpuMs() - startedAtMs;
}
