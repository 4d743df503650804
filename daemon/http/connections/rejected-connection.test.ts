import { connect, createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { formatRejection, rejectConnection } from "./rejected-connection.ts";

test("a refused client is told why, and can't hold its connection by sending on or by leaving its own side open", async () => {
  const refusal = formatRejection("503 Service Unavailable", "too many");
  const server = createServer({ allowHalfOpen: true }, (socket) => rejectConnection(socket, refusal));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  client.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  client.on("error", () => client.destroy());
  const sending = setInterval(() => client.write("x"), 100);
  await new Promise((resolve) => client.once("close", resolve));
  clearInterval(sending);
  await new Promise((resolve) => server.close(resolve));
  expect(text).toBe(refusal);
});
