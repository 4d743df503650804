import { createFindings, type Check } from "../check.ts";

const createFinding = createFindings("settings");

/** Checks that each service could start with its settings; reports each problem as a finding. */
export const settingsCheck: Check = async ({ services }) =>
  services.flatMap(({ service, source, settings, configuration }) => {
    if (settings === undefined) {
      if (configuration === undefined) return [];
      return [
        createFinding(
          service,
          "skipped",
          `not checked, because only its address is known (${source}); run this on its machine, or pass --settings ${service}=<file>`,
        ),
      ];
    }
    if (settings.ok) return [createFinding(service, "right", `can be read (${source})`)];
    return settings.problems.map((problem) => createFinding(service, "wrong", problem));
  });
