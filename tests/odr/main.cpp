// SPDX-License-Identifier: MIT
int unit_one();
int unit_two();

int main() { return unit_one() + unit_two(); }
