import { listResponding, createFindings, type Check } from "../check.ts";

const createFinding = createFindings("conditions");

/** Reports a running sidecar's or gateway's conditions about its node. */
export const conditionsCheck: Check = async ({ services }) =>
  listResponding(services)
    .filter(({ service: { service } }) => service === "sidecar" || service === "gateway")
    .flatMap(({ service: { service, status } }) => {
      if (status === undefined)
        return [createFinding(service, "unknown", "it reports nothing about its node: /status does not respond")];
      const wrong = status.conditions.filter((condition) => condition.status === "False");
      const unknown = status.conditions.filter((condition) => condition.status === "Unknown");
      if (status.conditions.length === 0)
        return [createFinding(service, "unknown", "it has just started and has not checked its node yet")];
      if (wrong.length === 0) {
        const others = unknown.length === 0 ? "" : `; unknown: ${unknown.map(({ type }) => type).join(", ")}`;
        const known = status.conditions.length - unknown.length;
        return [
          createFinding(
            service,
            "right",
            `${known} of ${status.conditions.length} conditions of its node are True${others}`,
          ),
        ];
      }
      return wrong.map(({ type, message }) => createFinding(service, "wrong", `${type}: ${message}`));
    });
