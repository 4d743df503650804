import type { InspectedService } from "./answers.ts";
import type { Finding } from "./finding.ts";

/** Input of a check. */
export type Diagnosis = Readonly<{
  services: readonly InspectedService[];
}>;

/** One check of `gatehouse doctor`. It changes nothing, and ends within its own deadlines. */
export type Check = (diagnosis: Diagnosis) => Promise<readonly Finding[]>;

/** Returns a function that builds findings of one check. */
export function createFindings(check: string) {
  return (subject: string, state: Finding["state"], message: string): Finding => ({ check, subject, state, message });
}

/** Lists the services that reported their configuration. The check of services reports the others. */
export function listAnswering(services: readonly InspectedService[]) {
  return services.flatMap((service) =>
    service.configuration === undefined ? [] : [{ service, configuration: service.configuration }],
  );
}
