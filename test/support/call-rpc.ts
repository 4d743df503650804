import { request } from "undici";

export type RpcResponse<Result> = Readonly<{ result?: Result; error?: Readonly<{ code: number; message: string }> }>;

export async function callRpc<Result>(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<RpcResponse<Result>> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await request(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return (await response.body.json()) as RpcResponse<Result>;
}
