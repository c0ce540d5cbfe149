(** Block laws, such as the cosine law ([src/tarry/core/laws/cosine.py]).

    A delay is G * block + a tick inside the block, every tick of 0..G-1 alike. The masses of n blocks are
    integers with one sum D: [u i] for an act that is not batched, [b i] for one that is. *)

From Coq Require Import ZArith Lia List.
From Tarry Require Import Sums.
Open Scope Z_scope.

(** The masses that a list gives to the blocks 0, 1, 2, ...; no other block has any. *)
Definition listed (masses : list Z) (i : Z) : Z :=
  if i <? 0 then 0 else nth (Z.to_nat i) masses 0.

Section Pair.
Variables n G : Z.
Variables b u : Z -> Z.
Hypothesis some_blocks : 0 < n.
Hypothesis some_ticks : 0 < G.

(** The mass of delay k, over the denominator D G: that of the block in which it lies. Division rounds down,
    so a negative delay lies in a negative block, which has no mass. *)
Definition tick_mass (masses : Z -> Z) (k : Z) : Z := masses (k / G).

(** What can be seen speaks for "batched" by so much, if the other act arrives s ticks later: the sum over
    all delays k of the positive part of x b(k) - y u(k - s). Over x D G it is the least delta at c = y / x,
    H_c(B, U shifted by s). *)
Definition H (x y s : Z) : Z :=
  sum ((n + 1) * G) (fun k => pos (x * tick_mass b k - y * tick_mass u (k - s))).

(** The same with blocks alone: as they stand, and with the unbatched ones a block later. *)
Definition H_same (x y : Z) : Z := sum (n + 1) (fun i => pos (x * b i - y * u i)).
Definition H_next (x y : Z) : Z := sum (n + 1) (fun i => pos (x * b i - y * u (i - 1))).

(** The block of a tick. *)
Lemma block_of i r : 0 <= r < G -> (i * G + r) / G = i.
Proof. intros. rewrite Z.div_add_l, Z.div_small by lia. lia. Qed.

(** (b) A shift is a public coin. In each block the first s ticks compare a batched block with the unbatched
    one before it, and the other G - s ticks compare it with its own. *)
Theorem shift_is_a_coin : forall x y s, 0 <= s <= G ->
  H x y s = (G - s) * H_same x y + s * H_next x y.
Proof.
  intros x y s shift. unfold H, H_same, H_next.
  rewrite sum_blocks, <- !sum_times, <- sum_add by lia. apply sum_ext. intros i _.
  rewrite (sum_cut s), <- (sum_of_the_same s), <- (sum_of_the_same (G - s)) by lia.
  rewrite Z.add_comm. (* the later ticks first *) f_equal; apply sum_ext; intros r inside; unfold tick_mass.
  - replace (i * G + (s + r) - s) with (i * G + r) by lia. now rewrite !block_of by lia.
  - replace (i * G + r - s) with ((i - 1) * G + (G - s + r)) by lia. now rewrite !block_of by lia.
Qed.

(** Both rows of masses are symmetric. *)
Hypothesis u_symmetric : forall i, u i = u (n - 1 - i).
Hypothesis b_symmetric : forall i, b i = b (n - i).

(** Read backwards, the blocks a step apart are the blocks as they stand. *)
Lemma both_ends_alike : forall x y, H_next x y = H_same x y.
Proof.
  intros x y. unfold H_next, H_same. rewrite sum_backwards. apply sum_ext. intros i _.
  rewrite (b_symmetric i), (u_symmetric i).
  now replace (n + 1 - 1 - i) with (n - i) by lia; replace (n - i - 1) with (n - 1 - i) by lia.
Qed.

(** (b) For symmetric masses every shift costs the same, at every c. *)
Theorem every_shift_alike : forall x y s, 0 <= s <= G -> H x y s = H x y 0.
Proof. intros. rewrite !shift_is_a_coin, both_ends_alike by lia. lia. Qed.

(** That cost is G times the one of the blocks as they stand. *)
Theorem cost_of_a_shift : forall x y s, 0 <= s <= G -> H x y s = G * H_same x y.
Proof. intros. rewrite shift_is_a_coin, both_ends_alike by lia. lia. Qed.

Hypothesis b_only_inside : forall i, i < 0 \/ n <= i -> b i = 0.
Hypothesis u_only_inside : forall i, i < 0 \/ n <= i -> u i = 0.

(** Delays outside 0 .. nG-1 have no mass. *)
Lemma ticks_only_inside masses k : (forall i, i < 0 \/ n <= i -> masses i = 0) ->
  k < 0 \/ n * G <= k -> tick_mass masses k = 0.
Proof.
  intros only outside. apply only. destruct outside as [before | after].
  - left. now apply Z.div_lt_upper_bound; lia.
  - right. apply Z.div_le_lower_bound; lia.
Qed.

(** The masses of all ticks sum to G times those of the blocks: D G if the blocks sum to D. *)
Theorem ticks_are_a_law : forall masses, sum (n * G) (tick_mass masses) = G * sum n masses.
Proof.
  intros masses. rewrite sum_blocks, <- sum_times by lia. apply sum_ext. intros i _.
  rewrite <- (sum_of_the_same G) by lia. apply sum_ext. intros r inside.
  unfold tick_mass. now rewrite block_of.
Qed.

(** If no batched block has more than p / q times the unbatched one, then no delay has, under any shift:
    what is never positive at shift 0 sums to 0 there, so by [every_shift_alike] at every shift. *)
Theorem dominates : forall p q, 0 <= p -> (forall i, 0 <= u i) -> (forall i, q * b i <= p * u i) ->
  forall k s, 0 <= s <= G -> q * tick_mass b k <= p * tick_mass u (k - s).
Proof.
  intros p q positive u_positive less k s shift.
  assert (k < 0 \/ (n + 1) * G <= k \/ 0 <= k < (n + 1) * G) as [before | [after | inside]] by lia.
  1-2: rewrite (ticks_only_inside b) by (assumption || lia);
    specialize (u_positive ((k - s) / G)); unfold tick_mass; nia.
  assert (H q p s = 0) as nothing.
  { rewrite cost_of_a_shift by assumption. unfold H_same.
    rewrite sum_zero; [lia |]. intros i _. specialize (less i). unfold pos. lia. }
  pose proof (sum_all_zero _ _ (fun i => Z.le_max_l 0 _) nothing k inside) as none.
  unfold pos in none. lia.
Qed.

End Pair.
