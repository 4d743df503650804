// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {Permit2} from "./Permit2.sol";

/// @title Base of the devnet's x402 proxies: spenders of Permit2 that pay only the address that the payer signed.
/// @dev Written for the devnet from the interface of the x402 proxies; not audited. They need no constructor.
abstract contract Permit2Proxy is ReentrancyGuard {
    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    event Settled();
    event SettledWithPermit();
    event EIP2612PermitFailedWithReason(address indexed token, address indexed owner, string reason);
    event EIP2612PermitFailedWithPanic(address indexed token, address indexed owner, uint256 errorCode);
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    error InvalidDestination();
    error PaymentTooEarly();
    error InvalidOwner();
    error InvalidAmount();
    error Permit2612AmountMismatch();

    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    struct Payment {
        uint256 amount;
        address owner;
        address to;
        uint256 validAfter;
        bytes32 witness;
    }

    function _pay(
        Permit2.PermitTransferFrom calldata permit,
        Payment memory payment,
        string memory witnessType,
        bytes calldata signature
    ) internal {
        require(payment.amount > 0, InvalidAmount());
        require(payment.owner != address(0), InvalidOwner());
        require(payment.to != address(0), InvalidDestination());
        require(block.timestamp >= payment.validAfter, PaymentTooEarly());
        Permit2.SignatureTransferDetails memory details = Permit2.SignatureTransferDetails(payment.to, payment.amount);
        PERMIT2.permitWitnessTransferFrom(permit, details, payment.owner, payment.witness, witnessType, signature);
    }

    /// @dev A failing permit is only reported, because the allowance may already exist.
    function _approve(
        EIP2612Permit calldata approval,
        Permit2.PermitTransferFrom calldata permit,
        address owner
    ) internal {
        require(approval.value == permit.permitted.amount, Permit2612AmountMismatch());
        address token = permit.permitted.token;
        try IERC20Permit(token).permit(
            owner, address(PERMIT2), approval.value, approval.deadline, approval.v, approval.r, approval.s
        ) {} catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch Panic(uint256 errorCode) {
            emit EIP2612PermitFailedWithPanic(token, owner, errorCode);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}

/// @title The devnet's x402ExactPermit2Proxy: pays the permitted amount.
contract ExactProxy is Permit2Proxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");

    function settle(
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _payExact(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _approve(permit2612, permit, owner);
        _payExact(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _payExact(
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 witnessHash = keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.validAfter));
        Payment memory payment =
            Payment(permit.permitted.amount, owner, witness.to, witness.validAfter, witnessHash);
        _pay(permit, payment, WITNESS_TYPE_STRING, signature);
    }
}

// / @title The devnet's x402UptoPermit2Proxy: pays the amount that the facilitator settles, up to the permitted amount; the payer signs the
// facilitator's address.
contract UptoProxy is Permit2Proxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    error UnauthorizedFacilitator();
    error AmountExceedsPermitted();

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    function settle(
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _payUpTo(permit, amount, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _approve(permit2612, permit, owner);
        _payUpTo(permit, amount, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _check(Permit2.PermitTransferFrom calldata permit, uint256 amount, Witness calldata witness) private view {
        require(amount <= permit.permitted.amount, AmountExceedsPermitted());
        require(msg.sender == witness.facilitator, UnauthorizedFacilitator());
    }

    function _payUpTo(
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 witnessHash =
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter));
        _pay(permit, Payment(amount, owner, witness.to, witness.validAfter, witnessHash), WITNESS_TYPE_STRING, signature);
    }
}
