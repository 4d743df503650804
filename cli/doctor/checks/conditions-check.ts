import { listAnswering, createFindings, type Check } from "../check.ts";

const look = createFindings("conditions");

/** Reports a running sidecar's or gateway's conditions about its node. */
export const conditionsCheck: Check = async ({ services }) =>
  listAnswering(services)
    .filter(({ service: { service } }) => service === "sidecar" || service === "gateway")
    .flatMap(({ service: { service, status } }) => {
      if (status === undefined)
        return [look(service, "unknown", "it reports nothing about its node: no answer at /status")];
      const wrong = status.conditions.filter((condition) => condition.status === "False");
      const unknown = status.conditions.filter((condition) => condition.status === "Unknown");
      if (status.conditions.length === 0)
        return [look(service, "unknown", "it has just started and reports nothing about its node yet")];
      if (wrong.length === 0) {
        const others = unknown.length === 0 ? "" : `; not known: ${unknown.map(({ type }) => type).join(", ")}`;
        const known = status.conditions.length - unknown.length;
        return [
          look(service, "right", `${known} of ${status.conditions.length} conditions of its node are True${others}`),
        ];
      }
      return wrong.map(({ type, message }) => look(service, "wrong", `${type}: ${message}`));
    });
