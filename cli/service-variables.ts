import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { serviceNames } from "./service-definitions.ts";

/** Commands with secrets of their own, which no service reads. */
const commandsWithSecrets = ["pay", "refund"];

/** Removes the settings of other services and commands from the environment for a service's process: they may be secrets. */
export function selectServiceVariables<Value extends string | undefined>(
  service: string,
  environment: Readonly<Record<string, Value>>,
): Record<string, Value> {
  const otherServices = [...serviceNames, ...commandsWithSecrets]
    .filter((name) => name !== service)
    .map((name) => `${toEnvironmentName(name, [])}_`);
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !otherServices.some((prefix) => name.startsWith(prefix))),
  );
}
