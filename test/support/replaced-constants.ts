import { loadDefinition, type ServiceName } from "../../cli/service-definitions.ts";
import { replaceConstants, type OtherConstants } from "./other-constants.ts";

/** Loaded before a service (`--import`), with `service` and `constants` in its query; see `importConstants`. */
const { searchParams } = new URL(import.meta.url);
const { schema } = await loadDefinition(searchParams.get("service") as ServiceName);
replaceConstants(schema, JSON.parse(searchParams.get("constants") ?? "{}") as OtherConstants);
