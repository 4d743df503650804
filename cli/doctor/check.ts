import type { InspectedService } from "./answers.ts";
import type { Finding } from "./finding.ts";

/** Input of a check. */
export type Diagnosis = Readonly<{
  services: readonly InspectedService[];
  /** Prometheus, as its web interface is reached; undefined where nobody named one. */
  prometheusUrl: string | undefined;
  /** Where clients come in, besides what settings name. */
  publicUrls: readonly string[];
  /** Milliseconds since 1970. */
  clock: () => number;
}>;

/** One kind of look. It changes nothing, and ends within its own deadlines. */
export type Check = (diagnosis: Diagnosis) => Promise<readonly Finding[]>;

/** Creates findings of one check. */
export function createFindings(check: string) {
  return (subject: string, state: Finding["state"], message: string): Finding => ({ check, subject, state, message });
}

/** The services that said who they are. The check of services reports the others. */
export function listAnswering(services: readonly InspectedService[]) {
  return services.flatMap((service) =>
    service.configuration === undefined ? [] : [{ service, configuration: service.configuration }],
  );
}
