import { Gauge, type Registry } from "prom-client";

/** A measured value. Where there is no sample there is no series: a 0 that nobody measured would set off alerts, or hide their cause. */
export type SampleGauge = Readonly<{
  /** Sets the value; undefined takes the series away until the next sample. */
  set: (value: number | undefined) => void;
}>;

/** Creates a gauge without labels that is absent until its first sample; prom-client's own begins with 0. */
export function createSampleGauge(options: Readonly<{ name: string; help: string; registry: Registry }>): SampleGauge {
  const gauge = new Gauge({ name: options.name, help: options.help, registers: [options.registry] });
  gauge.remove();
  return {
    set: (value) => {
      if (value === undefined) gauge.remove();
      else gauge.set(value);
    },
  };
}
