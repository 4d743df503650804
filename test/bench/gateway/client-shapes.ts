import shapes from "./client-shapes.json" with { type: "json" };

/** An `eth_getBalance` call, byte for byte as this client version sends it, except for the addresses. */
export type ClientShape = Readonly<{ client: string; version: string; head: readonly string[]; body: string }>;

/** The address in all recorded calls, as some clients write it. */
const recordedAddress = /0x0{32}decafbad/i;
const recordedId = /("id": ?)(\d+)/;

/** The recorded shapes. */
export const clientShapes: readonly ClientShape[] = shapes;

export type LoadOptions = Readonly<{
  /** The clients whose requests alternate. */
  shapes: readonly ClientShape[];
  /** Adds a different client address to each request, like an outer proxy. */
  forwardedFor?: boolean;
}>;

/**
 * A wrk script that sends these clients' requests, each with its own id and address. Only the length, the id and the
 * address differ from the recording.
 */
export function writeDistinctCalls({ shapes: chosen, forwardedFor = false }: LoadOptions): string {
  const forwarded = forwardedFor
    ? 'fmt("X-Forwarded-For: 203.%d.%d.%d\\r\\n", sent / 65536 % 256, sent / 256 % 256, sent % 256)'
    : '""';
  return `
local fmt = string.format
local shapes = {
${chosen.map((shape) => `  ${formatLuaShape(shape)},`).join("\n")}
}
local sent, run = 0, 0
init = function()
  math.randomseed(os.time())
  run = math.random(0, 2 ^ 30)
end
request = function()
  sent = sent + 1
  local shape = shapes[sent % #shapes + 1]
  local id, address = fmt("%d", sent), fmt("0x%032x%08x", run, sent)
  local body = shape[3] .. (shape[6] and id or address) .. shape[4] .. (shape[6] and address or id) .. shape[5]
  return shape[1] .. #body .. "\\r\\n" .. ${forwarded} .. shape[2] .. body
end
`;
}

/**
 * Formats a shape as a Lua table: the headers before and after the length, the body around the id and the address, and whether the id comes
 * first.
 */
function formatLuaShape({ client, head, body }: ClientShape): string {
  const place = head.findIndex((line) => /^content-length: \d+$/i.test(line));
  const length = head[place]?.replace(/\d+$/, "");
  const id = recordedId.exec(body);
  const address = recordedAddress.exec(body);
  if (length === undefined || id === null || address === null) throw new Error(`${client}: not a recorded call`);
  const idAt = id.index + id[0].length - (id[2]?.length ?? 0);
  const isIdFirst = idAt < address.index;
  const spans = [
    [idAt, id.index + id[0].length],
    [address.index, address.index + address[0].length],
  ].toSorted(([one = 0], [other = 0]) => one - other);
  const [[firstStart = 0, firstEnd = 0] = [], [secondStart = 0, secondEnd = 0] = []] = spans;
  const rest = [...head.slice(place + 1), "", ""].join("\r\n");
  const texts = [
    [...head.slice(0, place), length].join("\r\n"),
    rest,
    body.slice(0, firstStart),
    body.slice(firstEnd, secondStart),
    body.slice(secondEnd),
  ];
  return `{ ${[...texts.map(formatLuaString), String(isIdFirst)].join(", ")} }`;
}

function formatLuaString(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\r", "\\r").replaceAll("\n", "\\n")}"`;
}
