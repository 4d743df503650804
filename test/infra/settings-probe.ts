import { findOperationsPort, type OperatedService } from "#infra/stack-services.ts";

/**
 * Formats a program for a service's container that prints whether the container's settings file is active: `true` or
 * `false`.
 */
export function formatSettingsProbe(service: OperatedService): string {
  return `
    fetch("http://127.0.0.1:${findOperationsPort(service)}/configuration").then(async (answer) => {
      const { path, sha256, rejected } = (await answer.json()).files.find(({ path }) => path.endsWith("settings.json5"));
      const there = require("crypto").hash("sha256", require("fs").readFileSync(path));
      process.stdout.write(String(sha256 === there && rejected === undefined));
    })`;
}
