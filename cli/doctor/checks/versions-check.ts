import { version } from "#daemon/version.ts";
import { answering, looking, type Check } from "../check.ts";

const look = looking("versions");

/** Whether the services that run are of this command's version, and so of one and the same. */
export const versionsCheck: Check = async ({ services }) =>
  answering(services).map(({ service: { service }, configuration: { version: running } }) => {
    if (running === version) return look(service, "right", `runs ${version}, as this command`);
    return look(
      service,
      "wrong",
      `runs ${running}, and this command is ${version}; restart it with this version, or run the doctor of ${running}`,
    );
  });
