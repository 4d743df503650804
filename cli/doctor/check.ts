import type { InspectedService } from "./answers.ts";
import type { Finding } from "./finding.ts";

/** Input of a check. */
export type Diagnosis = Readonly<{
  services: readonly InspectedService[];
}>;

/** One read-only check of `gatehouse doctor`, which finishes within its own deadlines. */
export type Check = (diagnosis: Diagnosis) => Promise<readonly Finding[]>;

/** Returns a function that builds a check's findings. */
export function createFindings(check: string) {
  return (subject: string, state: Finding["state"], message: string): Finding => ({ check, subject, state, message });
}

/** Lists the services that reported their configuration. The service check reports the others. */
export function listResponding(services: readonly InspectedService[]) {
  return services.flatMap((service) =>
    service.configuration === undefined ? [] : [{ service, configuration: service.configuration }],
  );
}
