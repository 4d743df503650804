/**
 * A wrk script that sends what wallets and indexers do: of ten requests six read the head, two are one of a few `eth_call`s,
 * one reads logs of the latest block, and one reads what nobody has read before. The calls go to the identity precompile, which
 * results in what it is given, and every block has logs: an empty answer is never cached.
 */
export const mixScript = `
local headers = { ["Content-Type"] = "application/json" }
local function call(method, params)
  return wrk.format("POST", "/", headers, '{"jsonrpc":"2.0","id":1,"method":"' .. method .. '","params":' .. params .. '}')
end
local heads, calls, logs = {}, {}, nil
local sent = 0
init = function()
  heads = {
    call("eth_blockNumber", "[]"),
    call("eth_gasPrice", "[]"),
    call("eth_getBlockByNumber", '["latest",false]'),
  }
  for index = 0, 4 do
    calls[index] = call("eth_call", string.format('[{"to":"0x%040x","data":"0x%064x"},"latest"]', 4, index))
  end
  logs = call("eth_getLogs", '[{"fromBlock":"latest","toBlock":"latest"}]')
end
request = function()
  sent = sent + 1
  local place = sent % 10
  if place < 6 then return heads[place % 3 + 1] end
  if place < 8 then return calls[sent % 5] end
  if place == 8 then return logs end
  return call("eth_getBalance", string.format('["0x%040x","latest"]', sent))
end
`;
