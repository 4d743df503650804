import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { formatEnvironmentFile, formatUnitName, formatUnit } from "./unit.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** A file that an installation writes or removes; `text` is undefined if it is removed. */
export type FileStep = Readonly<{ path: string; mode: number; text: string | undefined; isSecret: boolean }>;

/** Steps, and files that are left unchanged, in words. */
export type Installation = Readonly<{ steps: readonly FileStep[]; kept: readonly string[] }>;

/** Locates the files of a service under a root, which is `/` except for images of other systems. */
export function locateInstalledFiles(service: string, root: string) {
  return {
    unit: join(root, "etc/systemd/system", formatUnitName(service)),
    environment: join(root, "etc/gatehouse", `${service}.env`),
  } as const;
}

/** Plans the files of a service. An existing environment file is the operator's, and is kept. */
export function planInstallation({ unit, variables }: ServiceFacts, root: string): Installation {
  const places = locateInstalledFiles(unit.service, root);
  const environmentFile = locateInstalledFiles(unit.service, "/").environment;
  const text = formatUnit({ ...unit, environmentFile });
  const steps: FileStep[] = [];
  const kept: string[] = [];
  if (existsSync(places.environment)) kept.push(`${places.environment} is there and is kept`);
  else {
    const settings = formatEnvironmentFile(unit.service, variables);
    steps.push({ path: places.environment, mode: 0o600, text: settings, isSecret: true });
  }
  if (existsSync(places.unit) && readFileSync(places.unit, "utf8") === text)
    kept.push(`${places.unit} is as it should be`);
  else steps.push({ path: places.unit, mode: 0o644, text, isSecret: false });
  return { steps, kept };
}

/** Plans the end of a service: its unit goes; its settings, keys and data stay. */
export function planRemoval(service: string, root: string): Installation {
  const places = locateInstalledFiles(service, root);
  const own = [places.environment, join(root, "var/lib", `gatehouse-${service}`)];
  return {
    steps: existsSync(places.unit) ? [{ path: places.unit, mode: 0, text: undefined, isSecret: false }] : [],
    kept: own.filter((path) => existsSync(path)).map((path) => `${path} is kept; remove it yourself`),
  };
}

function maskText(text: string, isSecret: boolean): string {
  return isSecret ? text.replaceAll(/^(\w+)="[\s\S]*?(?<!\\)"$/gm, "$1=…") : text;
}

/** Builds a plan's document; of variables that may hold secrets, only the names. */
export function buildPlanDocument({ steps, kept }: Installation) {
  return {
    steps: steps.map(({ path, mode, text, isSecret }) =>
      text === undefined
        ? { do: "remove", path }
        : { do: "write", path, mode: `0${mode.toString(8)}`, text: maskText(text, isSecret) },
    ),
    kept,
  };
}

/** Formats a plan in lines; of variables that may hold secrets, only the names. */
export function formatPlan({ steps, kept }: Installation): readonly string[] {
  const listed = steps.flatMap(({ path, mode, text, isSecret }) => {
    if (text === undefined) return [`remove ${path}`];
    const title = `write ${path}, mode 0${mode.toString(8)}:`;
    return [
      title,
      ...maskText(text, isSecret)
        .trimEnd()
        .split("\n")
        .map((line) => (line === "" ? "" : `    ${line}`)),
    ];
  });
  return [...listed, ...kept.map((line) => `${line}.`)];
}

/** Applies a plan. Readers find the old file or the new one meanwhile, and never a secret with another mode. */
export function applyInstallation({ steps }: Installation): void {
  for (const { path, mode, text } of steps) {
    if (text === undefined) rmSync(path);
    else {
      mkdirSync(dirname(path), { recursive: true });
      const staged = `${path}.new`;
      rmSync(staged, { force: true });
      writeFileSync(staged, text, { mode, flag: "wx" });
      chmodSync(staged, mode);
      renameSync(staged, path);
    }
  }
}
