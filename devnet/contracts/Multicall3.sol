// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The devnet's Multicall3: several calls in one.
/// @dev Written for the devnet from the interface of Multicall3; not audited. It has the parts that x402 uses.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, calls[i].callData);
            require(results[i].success || calls[i].allowFailure, "Multicall3: call failed");
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, calls[i].callData);
            require(results[i].success || !requireSuccess, "Multicall3: call failed");
        }
    }

    function _call(address target, bytes calldata callData) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(callData);
    }
}
