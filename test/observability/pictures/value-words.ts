type Scale = readonly (readonly [factor: number, word: string])[];

const scales: Readonly<Record<string, Scale>> = {
  s: [
    [86_400, " d"],
    [3_600, " h"],
    [60, " min"],
    [1, " s"],
    [1e-3, " ms"],
    [1e-6, " µs"],
  ],
  bytes: [
    [1024 ** 3, " GiB"],
    [1024 ** 2, " MiB"],
    [1024, " KiB"],
    [1, " B"],
  ],
  percentunit: [[0.01, " %"]],
  reqps: [[1, " req/s"]],
  cps: [[1, " /s"]],
  short: [
    [1e9, " Bil"],
    [1e6, " Mil"],
    [1e3, " K"],
    [1, ""],
  ],
};

/** Finds the factor and the unit name for a value in Grafana's unit, so that it has few digits. */
export function findScale(unit: string, value: number): Readonly<{ factor: number; word: string }> {
  const steps = scales[unit] ?? [[1, ""]];
  const [factor, word] = steps.find(([least]) => Math.abs(value) >= least) ??
    (value === 0 ? steps.find(([least]) => least === 1) : steps.at(-1)) ?? [1, ""];
  return { factor, word };
}

/** Writes a value in its unit, to three digits; heights and counts in full. */
export function writeValue(unit: string, value: number): string {
  const { factor, word } = findScale(unit, value);
  const scaled = value / factor;
  const options = Math.abs(scaled) >= 1_000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
  return `${scaled.toLocaleString("en", options)}${word}`;
}
