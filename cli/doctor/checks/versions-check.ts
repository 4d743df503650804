import { version } from "#daemon/version.ts";
import { listAnswering, createFindings, type Check } from "../check.ts";

const look = createFindings("versions");

/** Checks that all running services are the same version as this command. */
export const versionsCheck: Check = async ({ services }) =>
  listAnswering(services).map(({ service: { service }, configuration: { version: running } }) => {
    if (running === version) return look(service, "right", `runs ${version}, as this command`);
    return look(
      service,
      "wrong",
      `runs ${running}, and this command is ${version}; restart it with this version, or run the doctor of ${running}`,
    );
  });
