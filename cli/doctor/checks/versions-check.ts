import { version } from "#daemon/version.ts";
import { listResponding, createFindings, type Check } from "../check.ts";

const createFinding = createFindings("versions");

/** Checks that all running services are the same version as this command. */
export const versionsCheck: Check = async ({ services }) =>
  listResponding(services).map(({ service: { service }, configuration: { version: running } }) => {
    if (running === version) return createFinding(service, "right", `runs ${version}, the same as this command`);
    return createFinding(
      service,
      "wrong",
      `runs ${running}, but this command is ${version}; restart the service with this version, or run gatehouse doctor of ${running}`,
    );
  });
