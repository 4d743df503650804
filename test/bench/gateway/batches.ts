import { againstAnvil, startAnvilAndGateway } from "./anvil.ts";
import type { BenchProcess } from "./proxies.ts";
import { measureInRounds } from "./rounds.ts";
import type { BenchSetup } from "./setup.ts";
import type { Figure } from "./table.ts";
import { drive, rate } from "./wrk.ts";

const batchCalls = 100;

/**
 * A wrk script that sends batches of distinct calls, within a batch and across batches: balances, storage, and calls of
 * the identity precompile with 32 to 256 bytes of data, so that response lengths vary.
 */
const batchScript = `
local headers = { ["Content-Type"] = "application/json" }
local sent = math.random(1, 1000000) * 1000000
local function call(id, method, params)
  return string.format('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}', id, method, params)
end
request = function()
  local calls = {}
  for place = 1, ${batchCalls} do
    sent = sent + 1
    local kind = place % 3
    if kind == 0 then
      calls[place] = call(sent, "eth_getBalance", string.format('["0x%040x","latest"]', sent))
    elseif kind == 1 then
      calls[place] = call(sent, "eth_getStorageAt", string.format('["0x%040x","0x%x","latest"]', sent, place))
    else
      local data = string.rep(string.format("%064x", sent), 1 + sent % 8)
      calls[place] = call(sent, "eth_call", string.format('[{"to":"0x%040x","data":"0x%s"},"latest"]', 4, data))
    end
  end
  return wrk.format("POST", "/", headers, "[" .. table.concat(calls, ",") .. "]")
end
`;

/** Measures batches of distinct calls, through the gateway and directly against anvil. */
export async function measureBatches(setup: BenchSetup): Promise<readonly Figure[]> {
  await using both = await startAnvilAndGateway();
  const { anvil, gateway } = both;
  const measured = async (around: BenchSetup): Promise<Figure> => {
    const batches = ({ url, pid }: BenchProcess) => drive({ url, pid, script: batchScript, ...around });
    await batches(gateway);
    const what = `batches of ${batchCalls} distinct calls, ${around.connections} at a time`;
    const many = await measureInRounds(what, around.rounds, {
      "bare anvil": () => batches(anvil),
      "gateway in front of it": () => batches(gateway),
    });
    return many.ratio(`${what}: batches a second against bare anvil`, againstAnvil, rate, { least: 0.8 });
  };
  return [await measured(setup), await measured({ ...setup, connections: 1 })];
}
