import { createFindings, type Check } from "../check.ts";

const look = createFindings("settings");

/** Checks that each service could start with its settings; reports each problem as a finding. */
export const settingsCheck: Check = async ({ services }) =>
  services.flatMap(({ service, source, settings, configuration }) => {
    if (settings === undefined) {
      if (configuration === undefined) return [];
      return [
        look(
          service,
          "skipped",
          `only its address is known (${source}); where it runs, or with --settings ${service}=<file>, they can be read`,
        ),
      ];
    }
    if (settings.ok) return [look(service, "right", `can be read (${source})`)];
    return settings.problems.map((problem) => look(service, "wrong", problem));
  });
