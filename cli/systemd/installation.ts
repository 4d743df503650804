import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { formatEnvironmentFile, formatUnitName, formatUnit } from "./unit.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** A file that an installation writes or removes; `text` is absent where it is removed. */
export type FileStep = Readonly<{ path: string; mode: number; text: string | undefined; isSecret: boolean }>;

/** Steps, and what is left as it is, in words. */
export type Installation = Readonly<{ steps: readonly FileStep[]; kept: readonly string[] }>;

/** Where the files of a service belong, under a root that is `/` but for images of other systems. */
export function locateInstalledFiles(service: string, root: string) {
  return {
    unit: join(root, "etc/systemd/system", formatUnitName(service)),
    environment: join(root, "etc/gatehouse", `${service}.env`),
  } as const;
}

/** Plans the files of a service. An environment file that is there is the operator's, and kept. */
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

function shownText(text: string, isSecret: boolean): string {
  return isSecret ? text.replaceAll(/^(\w+)="[\s\S]*?(?<!\\)"$/gm, "$1=…") : text;
}

/** A plan as one document; of what may hold secrets, the names alone. */
export function buildPlanDocument({ steps, kept }: Installation) {
  return {
    steps: steps.map(({ path, mode, text, isSecret }) =>
      text === undefined
        ? { do: "remove", path }
        : { do: "write", path, mode: `0${mode.toString(8)}`, text: shownText(text, isSecret) },
    ),
    kept,
  };
}

/** Prints a plan, line by line; of what may hold secrets, the names alone. */
export function formatPlan({ steps, kept }: Installation): readonly string[] {
  const listed = steps.flatMap(({ path, mode, text, isSecret }) => {
    if (text === undefined) return [`remove ${path}`];
    const title = `write ${path}, mode 0${mode.toString(8)}:`;
    return [
      title,
      ...shownText(text, isSecret)
        .trimEnd()
        .split("\n")
        .map((line) => (line === "" ? "" : `    ${line}`)),
    ];
  });
  return [...listed, ...kept.map((line) => `${line}.`)];
}

/** Does what was planned. Whoever reads meanwhile finds the old file or the new one, and never a secret with another mode. */
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
