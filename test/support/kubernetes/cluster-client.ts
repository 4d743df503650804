import { Agent } from "undici";

export type ClusterObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; [key: string]: unknown }>;
}>;

export type ClusterResponse = Readonly<{ status: number; body: unknown; warning: string | undefined }>;

export type ClusterClient = AsyncDisposable &
  Readonly<{
    ask: (method: Method, path: string, body?: unknown, bodyType?: string) => Promise<ClusterResponse>;
    /**
     * Applies an object with strict field validation. Returns the cluster's complaint: a rejection, a warning, or
     * nothing.
     */
    apply: (object: ClusterObject, mode?: "for real" | "dry run") => Promise<string | undefined>;
  }>;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

type Resource = Readonly<{ kind: string; name: string; namespaced: boolean }>;

export function createClusterClient({
  url,
  token,
  ca,
}: Readonly<{ url: string; token: string; ca: string }>): ClusterClient {
  const agent = new Agent({ connect: { ca } });
  const resources = new Map<string, readonly Resource[]>();
  const ask: ClusterClient["ask"] = async (method, path, body, bodyType = "application/json") => {
    const headers = { authorization: `Bearer ${token}`, "content-type": bodyType };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await agent.request({ origin: url, path, method, headers, ...content });
    const text = await response.body.text();
    const warning = response.headers["warning"]?.toString();
    return { status: response.statusCode, body: text.startsWith("{") ? JSON.parse(text) : text, warning };
  };
  const pathOf = async ({ apiVersion, kind, metadata }: ClusterObject): Promise<string> => {
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const found = resources.get(group) ?? ((await ask("GET", group)).body as { resources?: Resource[] }).resources;
    if (found === undefined) throw new Error(`the cluster does not have ${apiVersion}`);
    resources.set(group, found);
    const resource = found.find((each) => each.kind === kind && !each.name.includes("/"));
    if (resource === undefined) throw new Error(`the cluster does not have ${kind} in ${apiVersion}`);
    const place = resource.namespaced ? `/namespaces/${metadata.namespace}` : "";
    return `${group}${place}/${resource.name}/${metadata.name}`;
  };
  return {
    ask,
    apply: async (object, mode = "for real") => {
      const query = `fieldManager=test&force=true&fieldValidation=Strict${mode === "dry run" ? "&dryRun=All" : ""}`;
      const path = `${await pathOf(object)}?${query}`;
      const { status, body, warning } = await ask("PATCH", path, object, "application/apply-patch+yaml");
      const rejection = status < 300 ? undefined : `${status}: ${(body as { message?: string }).message ?? ""}`;
      const words = [rejection, warning].filter((each) => each !== undefined);
      return words.length === 0 ? undefined : `${object.kind} ${object.metadata.name}: ${words.join("; ")}`;
    },
    [Symbol.asyncDispose]: () => agent.close(),
  };
}
