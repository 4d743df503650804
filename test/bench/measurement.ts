export type Measurement = Readonly<{
  what: string;
  target: string;
  measured: string;
  isMet: boolean;
  how?: string;
}>;

export function printMeasurement({ what, target, measured, isMet, how }: Measurement): void {
  process.stdout.write(`\n${what}\n  target ${target}; measured ${measured}: ${isMet ? "met" : "NOT MET"}\n`);
  if (how !== undefined) process.stdout.write(`  ${how}\n`);
}

/** Returns the quantile of the values for a share, e.g. 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
