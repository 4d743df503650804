import { hash } from "node:crypto";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { ServiceProcess } from "./service-process.ts";

type Configuration = Readonly<{ files: readonly Readonly<{ path: string; sha256: string; rejected?: string }>[] }>;

export async function readSettingsInForce({ urls }: Pick<ServiceProcess, "urls">, path: string) {
  const operations = Object.entries(urls).find(([name]) => /^sidecar$|operations$/.test(name))?.[1];
  const configuration = (await (await fetch(`${operations}/configuration`)).json()) as Configuration;
  return configuration.files.find((file) => file.path === path);
}

export async function waitUntilInForce(
  service: Pick<ServiceProcess, "urls">,
  path: string,
  text: string,
): Promise<void> {
  await until("the settings are active", generousMs, async () => {
    const found = await readSettingsInForce(service, path);
    return found?.sha256 === hash("sha256", text) && found.rejected === undefined;
  });
}

export async function waitUntilRejected(service: Pick<ServiceProcess, "urls">, path: string): Promise<string> {
  return until(
    "the settings are rejected",
    generousMs,
    async () => (await readSettingsInForce(service, path))?.rejected,
  );
}
