#!/bin/sh
# SPDX-License-Identifier: MIT
# given_orders.sh COURIER: runs it on the file that LEASEHOLD_ORDERS_FILE names. Every line must have one effect, and at
# least one late completion and one resend must have been refused.
if [ -z "$LEASEHOLD_ORDERS_FILE" ] || [ ! -f "$LEASEHOLD_ORDERS_FILE" ]; then
    echo "skipped: LEASEHOLD_ORDERS_FILE names no file of orders"
    exit 77
fi
out=$("$1" "$LEASEHOLD_ORDERS_FILE") || { echo "$out"; exit 1; }
echo "$out"
# What the file holds, counted by other means: every line has one effect, and the quantities are equal.
lines=$(($(wc -l <"$LEASEHOLD_ORDERS_FILE") - 1))
quantity=$(tail -n +2 "$LEASEHOLD_ORDERS_FILE" | awk -F'\t' '{ sum += $2 } END { print sum }')
for expected in "lines in:$lines" "delivered once:$lines" "quantity in:$quantity" "quantity in effect:$quantity"; do
    echo "$out" | grep -Eq "^${expected%:*} +${expected##*:}\$" || { echo "not '$expected'"; exit 1; }
done
echo "$out" | grep -Eq '^late completions the queue rejected +[1-9]' || { echo "no late completion was rejected"; exit 1; }
echo "$out" | grep -Eq '^resends the receiver refused +[1-9]' || { echo "no resend was refused"; exit 1; }
