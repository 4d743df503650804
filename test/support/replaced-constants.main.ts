import { enableCompileCache } from "node:module";
import { join } from "node:path";
import type { ServiceName } from "../../cli/service-definitions.ts";
import type { ConstantOverrides } from "./constant-overrides.ts";

/** Loaded before a service (`--import`), with `service` and `constants` in its query; see `importConstants`. */
const { searchParams } = new URL(import.meta.url);

// The command itself, which starts later, uses the same cache.
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/gatehouse"));
const { loadDefinition } = await import("../../cli/service-definitions.ts");
const { replaceConstants } = await import("./constant-overrides.ts");
const { schema } = await loadDefinition(searchParams.get("service") as ServiceName);
replaceConstants(schema, JSON.parse(searchParams.get("constants") ?? "{}") as ConstantOverrides);
